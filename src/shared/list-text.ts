/** A list of values as one text, for definitions, fixed values and addresses of pages. A list of one value is that value. */
export function listText(values: readonly string[]): string {
  const [only] = values
  return values.length === 1 && only !== undefined && !only.startsWith('[') ? only : JSON.stringify(values)
}

/** A declared value, or the values of a list, as one text. */
export function textOfValue(value: unknown): string {
  return Array.isArray(value) ? listText(value.map(String)) : String(value)
}

export function listValues(text: string): string[] {
  if (!text.startsWith('[')) return [text]
  try {
    const values = JSON.parse(text) as unknown[]
    return values.every((value) => typeof value !== 'object') ? values.map(String) : [text]
  } catch {
    return [text]
  }
}
