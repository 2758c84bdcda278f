// Elements with text of their own whose colour is too close to what is behind them: at least 4.5 to 1 (WCAG 2.2, AA).
(() => {
  const parsed = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return {r, g, b, a};
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const light = ({r, g, b}) => {
    const [x, y, z] = [r, g, b].map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.push(parsed(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), {r: 255, g: 255, b: 255, a: 1});
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
    // What is written on bars stands on colours that are no background: see the colours of members.
    if (!own || !element.checkVisibility({checkVisibilityCSS: true}) || element.closest(".holders, script, style")) continue;
    const style = getComputedStyle(element), back = behind(element), front = over(parsed(style.color), back);
    const [low, high] = [light(front), light(back)].sort((one, other) => one - other);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(`${element.tagName} ${element.className}: ${ratio.toFixed(2)} (${element.textContent.slice(0, 20)})`);
  }
  const members = getComputedStyle(document.documentElement);
  for (let index = 0; index < 8; index++) {
    const label = document.createElement("div");
    label.className = "holders";
    label.innerHTML = `<span class="on${index}"></span>`;
    document.body.append(label);
    const colour = members.getPropertyValue(`--m${index}`).trim();
    const bar = {r: parseInt(colour.slice(1, 3), 16), g: parseInt(colour.slice(3, 5), 16), b: parseInt(colour.slice(5, 7), 16), a: 1};
    const front = parsed(getComputedStyle(label.firstChild).color);
    const [low, high] = [light(front), light(bar)].sort((one, other) => one - other);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(`on the colour m${index}: ${ratio.toFixed(2)}`);
    label.remove();
  }
  return found;
})()
