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
  return site.replace(/(file:\S+\.js):(\d+):(\d+)/, (position, url: string, line: string, column: string) => {
    const entry = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return position
    const file = fileURLToPath(new URL(entry.originalSource, url))
    return `${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })
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
