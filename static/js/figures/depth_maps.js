/**
 * Depth × tokens as maps, one for each placement, all on one colour range. Pure: numbers in, chart out.
 * The stream runs upwards: the first state is the lowest row.
 */

import { colourOf, inkOn, stops } from '../colour.js';
import { compact, fixed, shorten, visible } from '../format.js';
import { escapeLabel, labelled, labelWidth, tokenAxis } from './axes.js';

const ROW = { least: 13, most: 26 };
const GAP = 26;
const BELOW = 18; // between maps on top of each other
const WRITTEN_UP_TO = 32; // more numbers than that nobody reads

/**
 * `panels`: [{title, norm, points: [{label, x, values}]}]; `labels` of the tokens; `chosen` position;
 * `cursor` the x of the chosen depth. `kind`, `range` as in colour.js. `words`: {value, position}.
 */
export function depthMaps({ panels, kind, range, labels, chosen, cursor, words }) {
  return (width, style) => {
    const n = labels.length;
    const across = width >= 760 && panels.length > 1;
    const limit = width < 480 ? 6 : 12;
    const left = Math.ceil(Math.max(...panels.flatMap(({ points }) => points.map(({ label }) => labelWidth(label, 11))))) + 12;
    const columns = across ? panels.length : 1;
    const each = (width - columns * left - (columns - 1) * GAP - 8) / columns;
    const cell = each / n;
    const names = labels.map((label) => shorten(visible(label), limit));
    const widest = Math.max(...names.map((label) => labelWidth(label)), 12);
    const turned = widest > cell - 4;
    const head = (turned ? Math.min(92, widest * 0.8 + 14) : 20) + 24;
    // Side by side one row is one depth in both; where a placement has nothing there, its row stays empty.
    const depths = (some) => [...new Set(some.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
    const rowsOf = panels.map((panel) => depths(across ? panels : [panel]).map((x) => panel.points.find((point) => point.x === x) ?? null));
    const row = Math.min(ROW.most, Math.max(ROW.least, 460 / Math.max(...rowsOf.map((rows) => rows.length))));
    const heights = rowsOf.map((rows) => row * rows.length);
    const total = across ? head + Math.max(...heights) : heights.reduce((sum, height) => sum + height + head + BELOW, -BELOW);
    const places = labelled(n, cell, turned ? 13 : 0);
    // As many decimals as the range needs; tiny ranges have powers of ten, where there is room for them.
    const decimals = range >= 10 ? Number(cell >= 38) : range >= 0.1 ? 2 : null;
    const write = (value) => (decimals === null ? compact(value, 2) : fixed(value, decimals));
    const longest = Math.max(0, ...panels.flatMap(({ points }) => points.flatMap(({ values }) => values.map((value) => (Number.isFinite(value) ? labelWidth(write(value), 10) : 0)))));
    const written = n <= WRITTEN_UP_TO && longest <= cell - 3 && row >= 17;
    const layout = { height: Math.ceil(total + 8), margin: { l: 0, r: 0, t: 0, b: 8 }, annotations: [], shapes: [], hovermode: 'closest' };
    const data = [];
    const numbers = [];
    let above = 0;
    panels.forEach((panel, i) => {
      const rows = rowsOf[i];
      const id = i === 0 ? '' : String(i + 1);
      const x0 = across ? i * (left + each + GAP) + left : left;
      const top = across ? head : above + head;
      above += heights[i] + head + BELOW;
      const domain = { x: [x0 / width, Math.min(1, (x0 + each) / width)], y: [Math.max(0, 1 - (top + heights[i]) / total), 1 - top / total] };
      data.push({
        type: 'heatmap', xaxis: `x${id}`, yaxis: `y${id}`, z: rows.map((point) => point?.values ?? labels.map(() => null)), x: labels.map((_, at) => at), y: rows.map((_, at) => at),
        customdata: rows.map((point) => labels.map((token) => [escapeLabel(point?.label ?? ''), escapeLabel(visible(token)), point?.x])),
        zmin: kind === 'diverging' ? -range : 0, zmax: range, colorscale: stops(kind, style.theme), showscale: false, xgap: cell > 8 ? 1 : 0, ygap: 1, hoverongaps: false,
        hovertemplate: `<b>${escapeLabel(panel.title)}</b><br>%{customdata[0]}<br>${escapeLabel(words.position)} %{x} %{customdata[1]}<br>${escapeLabel(words.value)} <b>%{z:.4g}</b><extra></extra>`,
      });
      layout[`xaxis${id}`] = { ...tokenAxis(labels, places, style, limit), domain: domain.x, anchor: `y${id}`, side: 'top', range: [-0.5, n - 0.5], tickangle: turned ? -50 : 0 };
      layout[`yaxis${id}`] = {
        ...tokenAxis(rows.map((point) => point?.label ?? ''), labelled(rows.length, row, 12).filter((at) => rows[at]), style, 40), domain: domain.y, anchor: `x${id}`, range: [-0.5, rows.length - 0.5], tickfont: { size: 11, color: style.muted },
      };
      layout.annotations.push({ text: escapeLabel(panel.title), xref: 'paper', yref: 'paper', x: across ? x0 / width : 0, y: 1 - (top - head) / total, xanchor: 'left', yanchor: 'top', showarrow: false, font: { size: 13, color: style[panel.norm], weight: 700 } });
      if (written) {
        const cells = rows.flatMap((point, y) => (point?.values ?? []).map((value, x) => ({ x, y, value }))).filter(({ value }) => Number.isFinite(value));
        // One trace of texts: as many annotations would take seconds.
        numbers.push({
          type: 'scatter', mode: 'text', xaxis: `x${id}`, yaxis: `y${id}`, x: cells.map(({ x }) => x), y: cells.map(({ y }) => y), text: cells.map(({ value }) => write(value)), hoverinfo: 'skip',
          textfont: { size: longest <= cell - 10 ? 11 : 10, color: cells.map(({ value }) => inkOn(colourOf(value, kind, range, style.theme))) },
        });
      }
      const frame = (shape) => layout.shapes.push({ type: 'rect', xref: `x${id}`, yref: `y${id}`, fillcolor: 'rgba(0,0,0,0)', line: { color: style.ink, width: 1.5 }, ...shape });
      frame({ x0: chosen - 0.5, x1: chosen + 0.5, y0: -0.5, y1: rows.length - 0.5 });
      const at = rows.findIndex((point) => point?.x === cursor);
      if (at >= 0) frame({ x0: -0.5, x1: n - 0.5, y0: at - 0.5, y1: at + 0.5, line: { color: style.stream, width: 1.5, dash: 'dot' } });
    });
    return { data: [...data, ...numbers], layout };
  };
}
