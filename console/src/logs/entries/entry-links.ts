import { pathOf } from '../../../../src/shared/path-text.ts'
import type { Entry } from '../../api/shapes.ts'

/** Keys whose values connect entries, in the spellings of log libraries. */
const traceKey = /^(?:x[-_])?(?:trace|request|correlation|execution)[-_]?id$/i
const maxDepth = 4
const maxLinks = 4
/** Entries of one trace are rarely further apart. */
const traceMs = 3_600_000

const page = (values: Record<string, string>) => `/console/logs?${new URLSearchParams(values)}`

/** Opens the entry with those around it. */
export function entryLink(source: string, { id, timestamp, project }: Entry): string {
  return page({ source, ...(project !== '' && { project }), entry: id, at: String(timestamp) })
}

/** Where the entries of all sources with the same trace or request id are. */
export function traceLinks(source: string, { metadata, timestamp }: Entry) {
  const atMs = Math.floor(timestamp / 1000)
  const [from, to] = [-1, 1].map((side) => new Date(atMs + side * traceMs).toISOString()) as [string, string]
  return [...traceIds(metadata, [])].slice(0, maxLinks).map(([keys, value]) => {
    return {
      key: keys.at(-1) ?? '',
      path: pathOf(keys),
      value,
      href: page({ source, trace: value, from, to }),
    }
  })
}

function* traceIds(value: Record<string, unknown>, keys: readonly string[]): Generator<[string[], string]> {
  for (const [key, member] of Object.entries(value)) {
    const inner = [...keys, key]
    if (typeof member === 'string' && member !== '' && member.length <= 200 && traceKey.test(key)) {
      yield [inner, member]
    } else if (
      typeof member === 'object' &&
      member !== null &&
      !Array.isArray(member) &&
      keys.length < maxDepth
    ) {
      yield* traceIds(member as Record<string, unknown>, inner)
    }
  }
}
