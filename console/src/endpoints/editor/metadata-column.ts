/** A path of metadata as it is written in SQL: keys that are no plain words stand between backticks. */
export function metadataColumn(path: string): string {
  return ['metadata', ...path.split('.').map(written)].join('.')
}

function written(key: string): string {
  if (/^[A-Za-z_]\w*$/.test(key)) return key
  return `\`${key.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}
