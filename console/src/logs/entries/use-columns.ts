import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { queries } from '../../api/queries.ts'
import { readPreference, writePreference } from '../../ui/preference.ts'
import { leastWidthOf, widthOf } from './entry-columns.ts'

export interface ShownColumn {
  path: string
  width: number
  /** Where the window is too narrow for all columns. A width that somebody chose stays. */
  least: number
}

/** What somebody chose for a source. */
interface Chosen {
  paths?: string[] | undefined
  widths?: Record<string, number> | undefined
}

export interface Columns {
  /** Undefined until they are known. */
  shown: readonly ShownColumn[] | undefined
  /** Whether somebody chose them. */
  isOwn: boolean
  choose: (paths: readonly string[] | undefined) => void
  resize: (path: string, width: number) => void
}

const leastWidth = 40
const mostWidth = 1_200

/**
 * The columns of the list: those of the source, or proposed ones, with the project before and the message behind them, or what
 * this person chose for the source in this browser.
 */
export function useColumns(source: string, has: { projects: boolean; messages: boolean }): Columns {
  const key = `wellhead.columns.${source}`
  const [kept, setKept] = useState<{ key: string; chosen: Chosen }>()
  const chosen = useMemo(() => (kept?.key === key ? kept.chosen : readChosen(key)), [kept, key])
  const { data, isError } = useQuery(queries.listColumns(source))
  const keep = (changes: Chosen) => {
    const next = { ...chosen, ...changes }
    writePreference(key, next.paths || next.widths ? JSON.stringify(next) : null)
    setKept({ key, chosen: next })
  }
  const proposed = data?.columns.map(({ path }) => path) ?? (isError ? [] : undefined)
  const paths = chosen.paths ?? (proposed && withOwn(proposed, has))
  const { widths = {} } = chosen
  return {
    shown: paths?.map((path) => ({
      path,
      width: widths[path] ?? widthOf(path),
      least: widths[path] ?? leastWidthOf(path),
    })),
    isOwn: chosen.paths !== undefined,
    choose: (next) => keep(next ? { paths: [...next] } : { paths: undefined, widths: undefined }),
    resize: (path, width) =>
      keep({ widths: { ...widths, [path]: Math.round(Math.min(mostWidth, Math.max(leastWidth, width))) } }),
  }
}

function withOwn(proposed: readonly string[], has: { projects: boolean; messages: boolean }): string[] {
  const isOwn = (path: string) => ['project', 'message', 'event_message'].includes(path)
  const rest = proposed.filter((path) => !isOwn(path))
  return [
    ...(has.projects || proposed.includes('project') ? ['project'] : []),
    ...rest,
    ...(has.messages || rest.length < 2 ? ['message'] : []),
  ]
}

function readChosen(key: string): Chosen {
  try {
    const read = JSON.parse(readPreference(key) ?? '{}') as Chosen
    const paths = Array.isArray(read.paths)
      ? read.paths.filter((path) => typeof path === 'string')
      : undefined
    return { ...(paths && { paths }), widths: read.widths ?? {} }
  } catch {
    return {}
  }
}
