"""Objects by version, their history, and the watch cache of a front end. What etcd is to a real server."""
