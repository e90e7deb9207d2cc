import type { ApiParameter, Operation } from './api-document.ts'

/** What the reader fills in: parameters by name, and the body as text. */
interface Filled {
  values: Record<string, string>
  body: string
}

/** Examples of required parameters, and of those that stand for several. */
export function exampleOf({ parameters = [], requestBody }: Operation): Filled {
  const values = parameters.flatMap(({ name, in: place, required, example }) => {
    if (place === 'header') return []
    if (typeof example === 'object' && example !== null) return Object.entries(example)
    return required ? [[name, example ?? '']] : []
  })
  const example = requestBody?.content['application/json']?.example
  return {
    values: Object.fromEntries(values.map(([name, value]) => [name, String(value)])),
    body: example === undefined ? '' : JSON.stringify(example, null, 2),
  }
}

/** Path and query. */
export function targetOf({ path, parameters = [] }: Operation, { values }: Filled): string {
  const inPath = new Set(parameters.filter(({ in: place }) => place === 'path').map(({ name }) => name))
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] || name))
  const query = new URLSearchParams(Object.entries(values).filter(([name]) => !inPath.has(name)))
  return query.size === 0 ? target : `${target}?${query}`
}

/** An empty scheme means that the token is optional. */
const needsToken = ({ security }: Pick<Operation, 'security'>): boolean =>
  security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0)

/** The request for a shell. It never contains the token, because it gets shared. */
export function curlOf(operation: Operation, filled: Filled, origin: string): string {
  const { method } = operation
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(origin + targetOf(operation, filled))}`,
  ]
  if (needsToken(operation)) lines.push('-H "X-API-KEY: $WELLHEAD_TOKEN"')
  if (filled.body !== '')
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(inOneLine(filled.body))}`)
  return lines.join(' \\\n  ')
}

function inOneLine(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** Inside single quotes, only the single quote is special in a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Parameters that have a field. Those that stand for several are named by their example. */
export function fieldsOf({ parameters = [] }: Operation, { values }: Filled): ApiParameter[] {
  const named = parameters.filter(
    ({ in: place, example }) => place !== 'header' && (typeof example !== 'object' || example === null),
  )
  const others = Object.keys(values).filter((name) => !named.some((one) => one.name === name))
  return [
    ...others.map((name): ApiParameter => ({ name, in: 'query', description: '', schema: {} })),
    ...named,
  ]
}
