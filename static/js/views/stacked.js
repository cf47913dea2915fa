/** Tables that a phone shows as one card a row (css/tables.css). Knows no figure and no page. */

/** Give each cell of `table` the name of its column, to stand before it where the heads are out of sight. */
export function stacked(table) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  table.classList.add('is-stacked');
  for (const cell of table.querySelectorAll('tbody td')) cell.dataset.label = names[cell.cellIndex];
  return table;
}
