import { keysOf } from './path-text.ts'

export const columnKinds = ['level', 'method', 'route', 'status', 'duration', 'error'] as const
export type ColumnKind = (typeof columnKinds)[number]

/** The last keys of each kind's paths, the best first. They are compared in lower case and without separators. */
const names: Record<ColumnKind, readonly string[]> = {
  level: ['level', 'severity', 'severitytext', 'errorseverity', 'loglevel'],
  method: ['method', 'requestmethod', 'httpmethod', 'httprequestmethod', 'verb'],
  route: ['route', 'httproute', 'path', 'urlpath', 'requestpath', 'httptarget', 'url', 'requesturl'],
  status: ['status', 'statuscode', 'httpresponsestatuscode', 'httpstatuscode', 'responsestatus'],
  duration: [
    'ms',
    'duration',
    'responsetime',
    'origintime',
    'elapsed',
    'latency',
    'executiontime',
    'took',
    's',
  ],
  error: ['exceptionmessage', 'errmessage', 'errormessage', 'error', 'err', 'errormsg', 'exception'],
}

/** What the values of a path mean, if it is well known. */
export function columnKindOf(path: string): ColumnKind | undefined {
  const last = keysOf(path).at(-1) ?? ''
  // The end of a name tells it, too: upstream_status. But not zoom_level or file_path.
  const ends = [...last.matchAll(/[._]/g)].map(({ index }) => lettersOf(last.slice(index)))
  return (
    columnKinds.find((kind) => placeOf(path, kind) >= 0) ??
    (['method', 'status', 'duration', 'error'] as const).find((kind) => placeAmong(ends, kind) >= 0)
  )
}

/** Whether a column, by its name or its path, has values of a kind. */
export function isOfKind({ name, path }: { name: string; path: string }, kind: ColumnKind): boolean {
  return columnKindOf(path) === kind || columnKindOf(name) === kind
}

/** Position among the names of a kind, by the last key, or by the last two as in err.message; -1 for other paths. */
export function placeOf(path: string, kind: ColumnKind): number {
  const keys = keysOf(path).map(lettersOf)
  return placeAmong([keys.slice(-2).join(''), keys.at(-1) ?? ''], kind)
}

function placeAmong(texts: readonly string[], kind: ColumnKind): number {
  const all = kind === 'duration' ? texts.flatMap((text) => [text, withoutUnit(text)]) : texts
  return all.map((text) => names[kind].indexOf(text)).find((place) => place >= 0) ?? -1
}

const lettersOf = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '')

const withoutUnit = (text: string) => text.replace(/(?:[mun]?s|seconds)$/, '')
