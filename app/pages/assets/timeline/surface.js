// What a timeline is drawn on: a canvas, or the text of an SVG file; both are told the same.

const FONT = "system-ui, sans-serif";
const escaped = (text) =>
  String(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

/** Letters of a text that fit [px]; a mean width does, as nothing is laid out by it. */
export function fitting(text, width, size = 11) {
  const most = Math.floor(width / (0.56 * size));
  if (text.length <= most) return text;
  return most < 3 ? "" : `${text.slice(0, most - 1)}…`;
}

/**
 * @typedef {object} Surface
 * @property {(x: number, y: number, w: number, h: number, fill: string, opacity?: number) => void} rect
 * @property {(x: number, y: number, w: number, h: number, stroke: string) => void} frame
 * @property {(points: number[], stroke: string, width?: number, dash?: number[]) => void} line
 * @property {(x: number, y: number, text: string, fill: string, size?: number, weight?: number) => void} text
 */

/**
 * A canvas' context as a surface.
 *
 * @param {CanvasRenderingContext2D} context
 * @returns {Surface}
 */
export function onCanvas(context) {
  context.textBaseline = "middle";
  return {
    rect(x, y, w, h, fill, opacity = 1) {
      if (context.globalAlpha !== opacity) context.globalAlpha = opacity;
      if (context.fillStyle !== fill) context.fillStyle = fill;
      context.fillRect(x, y, w, h);
    },
    frame(x, y, w, h, stroke) {
      context.globalAlpha = 1;
      context.setLineDash([]);
      context.strokeStyle = stroke;
      context.lineWidth = 2.5;
      context.strokeRect(x, y, w, h);
    },
    line(points, stroke, width = 1, dash = []) {
      context.globalAlpha = 1;
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.beginPath();
      for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
      context.stroke();
    },
    text(x, y, text, fill, size = 11, weight = 400) {
      context.globalAlpha = 1;
      context.fillStyle = fill;
      context.font = `${weight} ${size}px ${FONT}`;
      context.fillText(text, x, y);
    },
  };
}

/**
 * A surface that is written down as SVG.
 *
 * @param {number} width
 * @param {number} height
 * @returns {Surface & { svg: () => string }}
 */
export function onPaper(width, height) {
  const parts = [];
  const at = (value) => +value.toFixed(2);
  return {
    rect(x, y, w, h, fill, opacity = 1) {
      const thin = opacity === 1 ? "" : ` opacity="${opacity}"`;
      parts.push(
        `<rect x="${at(x)}" y="${at(y)}" width="${at(w)}" height="${at(h)}" fill="${fill}"${thin}/>`,
      );
    },
    frame(x, y, w, h, stroke) {
      const box = `x="${at(x)}" y="${at(y)}" width="${at(w)}" height="${at(h)}"`;
      parts.push(`<rect ${box} fill="none" stroke="${stroke}" stroke-width="2.5"/>`);
    },
    line(points, stroke, wide = 1, dash = []) {
      const dashed = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
      parts.push(
        `<polyline points="${points.map(at).join(" ")}" fill="none" stroke="${stroke}" ` +
          `stroke-width="${wide}"${dashed}/>`,
      );
    },
    text(x, y, text, fill, size = 11, weight = 400) {
      parts.push(
        `<text x="${at(x)}" y="${at(y)}" dominant-baseline="middle" fill="${fill}" font-size="${size}" ` +
          `font-weight="${weight}">${escaped(text)}</text>`,
      );
    },
    svg: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="${FONT}">${parts.join("")}</svg>\n`,
  };
}
