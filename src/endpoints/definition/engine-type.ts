/** A parsed type of the engine: `Map(String, Array(Int64))` has two arguments, of which the second has one. */
export interface EngineType {
  readonly name: string
  readonly arguments: readonly EngineArgument[]
  readonly text: string
}

interface EngineArgument {
  readonly label: string | undefined
  readonly type: EngineType
  /** Source text, for arguments that are not types. */
  readonly text: string
}

const unnamed = /^[A-Za-z_]\w*(?:\(|$)/
const quotedLabel = /^`((?:[^`\\]|\\.)*)`\s+/
const plainLabel = /^([A-Za-z_]\w*)\s+/

export function parseEngineType(text: string): EngineType {
  const open = text.indexOf('(')
  if (open < 0 || !text.endsWith(')')) return { name: text.trim(), arguments: [], text }
  return {
    name: text.slice(0, open).trim(),
    arguments: splitArguments(text.slice(open + 1, -1)).map(parseArgument),
    text,
  }
}

function parseArgument(written: string): EngineArgument {
  const text = written.trim()
  const match = unnamed.test(text) ? null : (quotedLabel.exec(text) ?? plainLabel.exec(text))
  return {
    label: match?.[1]?.replace(/\\(.)/g, '$1'),
    type: parseEngineType(text.slice(match?.[0].length ?? 0)),
    text,
  }
}

/** Splits at commas outside brackets and quotes. */
function splitArguments(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (quote !== '') {
      if (sign === '\\') at++
      else if (sign === quote) quote = ''
    } else if (sign === "'" || sign === '`') quote = sign
    else if (sign === '(') depth++
    else if (sign === ')') depth--
    else if (sign === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts.filter((part) => part.trim() !== '')
}
