/** What scenarios came to, as a Markdown table. */
export function resultTable(results) {
  const rows = results.map(({ name, counts, faults, seconds, skipped }) => [
    name,
    skipped ??
      Object.entries(counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(', '),
    skipped !== undefined ? 'skipped' : faults.length === 0 ? 'holds' : `${faults.length} faults`,
    skipped !== undefined ? '' : `${Math.round(seconds)}`,
  ])
  const table = [['scenario', 'what it did', 'verdict', 'seconds'], ['---', '---', '---', '---:'], ...rows]
  return table.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}
