import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

const maps = new Map<string, SourceMap | undefined>()

/** Shows positions of source files in stacks. Maps are read with the first stack; Node's own switch reads them at each start. */
export function showSourcePositions(): void {
  Error.prepareStackTrace = (error, sites) =>
    [Error.prototype.toString.call(error), ...sites.map((site) => `    at ${inSource(String(site))}`)].join(
      '\n',
    )
}

function inSource(site: string): string {
  const start = site.indexOf('file:')
  const position = /:(\d{1,9}):(\d{1,9})\)?$/.exec(site)
  if (start < 0 || !position) return site
  const url = site.slice(start, position.index)
  const entry = mapOf(url)?.findEntry(Number(position[1]) - 1, Number(position[2]) - 1)
  if (!entry || !('originalSource' in entry)) return site
  const file = fileURLToPath(new URL(entry.originalSource, url))
  const end = site.endsWith(')') ? ')' : ''
  return `${site.slice(0, start)}${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}${end}`
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url))
  return maps.get(url)
}

function readMap(url: string): SourceMap | undefined {
  try {
    const text = readFileSync(fileURLToPath(`${url}.map`), 'utf8')
    return new SourceMap(JSON.parse(text) as SourceMapPayload)
  } catch {
    return undefined
  }
}
