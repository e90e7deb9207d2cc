import type { DescribedOperation, DescribedParameter } from '../operation.ts'

/** An example request for a shell. */
export function curlOf(
  operation: DescribedOperation & { method: string; path: string },
  baseUrl: string,
): string {
  const { method, path, parameters = [], requestBody, security } = operation
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parameters.find((parameter) => parameter.name === name)?.example ?? name)),
  )
  const base = baseUrl.replace(/\/$/, '')
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${quoted(base + address + queryOf(parameters))}`,
  ]
  // An empty scheme means that the token is optional.
  const requiresToken = security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0)
  if (requiresToken) lines.push('-H "X-API-KEY: $WELLHEAD_TOKEN"')
  const example = requestBody?.content['application/json']?.example
  if (example !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example))}`)
  }
  return lines.join(' \\\n  ')
}

/** Required parameters, and those with an example. */
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

/** Inside single quotes, only the single quote is special in a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
