import type { DescribedOperation, DescribedParameter } from './docs-operation.ts'

/** A call that can be pasted into a shell. */
export function curlOf(operation: DescribedOperation, baseUrl: string): string {
  const { method, path, parameters = [], requestBody, security } = operation
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parameters.find((parameter) => parameter.name === name)?.example ?? name)),
  )
  const base = baseUrl.replace(/\/$/, '')
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${quoted(base + address + queryOf(parameters))}`,
  ]
  if (security.some((scheme) => Object.hasOwn(scheme, 'apiKey')) && !takesNobody(security)) {
    lines.push('-H "X-API-KEY: $WELLHEAD_TOKEN"')
  }
  const example = requestBody?.content['application/json']?.example
  if (example !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example))}`)
  }
  return lines.join(' \\\n  ')
}

function takesNobody(security: readonly object[]): boolean {
  return security.some((scheme) => Object.keys(scheme).length === 0)
}

/** Those that must be sent, and those that have an example. */
function queryOf(parameters: readonly DescribedParameter[]): string {
  const sent = new URLSearchParams()
  for (const { name, in: place, required, example } of parameters) {
    if (place !== 'query' || (!required && example === undefined)) continue
    if (typeof example === 'object' && example !== null) {
      for (const [key, value] of Object.entries(example)) sent.set(key, String(value))
    } else sent.set(name, String(example ?? ''))
  }
  return sent.size === 0 ? '' : `?${sent}`
}

/** Between single quotes nothing means anything to a shell but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
