/** The section of a version: `## Unreleased`, which becomes this version, or `## 0.1.0`, with or without a date. */
function sectionOf(changelog, version) {
  const lines = changelog.split('\n')
  const isOwn = (line) => line === '## Unreleased' || line.replace(/ \(.*\)$/, '') === `## ${version}`
  const start = lines.findIndex(isOwn)
  if (start < 0) throw new Error(`CHANGELOG.md has neither "## Unreleased" nor "## ${version}".`)
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '))
  return { lines, start, end: length < 0 ? lines.length : start + 1 + length }
}

/** What changed in a version. */
export function notesOf(changelog, version) {
  const { lines, start, end } = sectionOf(changelog, version)
  const text = lines
    .slice(start + 1, end)
    .join('\n')
    .trim()
  if (text === '') throw new Error(`CHANGELOG.md says nothing about ${version}.`)
  return `${text}\n`
}

/** The changelog with the date of a release in its title. */
export function dated(changelog, version, date) {
  const { lines, start } = sectionOf(changelog, version)
  return lines.with(start, `## ${version} (${date.toISOString().slice(0, 10)})`).join('\n')
}
