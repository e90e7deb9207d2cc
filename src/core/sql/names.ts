export function sqlText(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`
}

export function sqlName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

export function pathSql(column: string, keys: readonly string[], end = '::Nullable(String)'): string {
  const parts = keys.map((key) => (/^[A-Za-z_]\w*$/.test(key) ? key : sqlName(key)))
  return [column, ...parts].join('.') + end
}
