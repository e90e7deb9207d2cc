const maxExamples = 3
const maxCharacters = 100
const maxDepth = 100

/** A few distinct values of each path as text, from the metadata of some entries. Lists are one value, as JSON. */
export function pathExamples(metadata: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const add = (path: string, value: unknown) => {
    const text = exampleText(value)
    const examples = found.get(path) ?? []
    if (text === undefined || examples.length === maxExamples || examples.includes(text)) return
    found.set(path, [...examples, text])
  }
  const visit = (prefix: string, object: object, depth: number) => {
    for (const [key, value] of Object.entries(object)) {
      const path = `${prefix}${key}`
      if (!isObject(value)) add(path, value)
      else if (depth < maxDepth) visit(`${path}.`, value, depth + 1)
    }
  }
  for (const text of metadata) {
    const value = parsed(text)
    if (isObject(value)) visit('', value, 1)
  }
  return found
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for values that say nothing, and for integers that lost their last digits. */
function exampleText(value: unknown): string | undefined {
  if (value === null || value === '') return undefined
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Cuts between characters, not inside a surrogate pair.
  return [...text.slice(0, 2 * maxCharacters)].slice(0, maxCharacters).join('')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
