import type { SourceColumn } from '../../../src/core/sql/paths.ts'
import { findWarnings, type WarnedQuery } from '../../../src/core/sql/warnings/find-warnings.ts'

const text = (column: string, path: string): SourceColumn => ({ name: column, path, type: 'text' })
const sources: Record<string, SourceColumn[]> = {
  edge_logs: [
    text('request_path', 'request.path'),
    { name: 'status_code', path: 'response.status_code', type: 'number' },
  ],
  auth_logs: [],
}

/** The SQL at the position of each warning with one of these codes. */
export async function warned(sql: string, codes: RegExp, more: Partial<WarnedQuery> = {}): Promise<string[]> {
  const found = await findWarnings({
    ...{ sql, declared: [], sandbox: false },
    columnsOf: (source) => (Object.hasOwn(sources, source) ? sources[source] : undefined),
    ...more,
  })
  return found
    .filter(({ code }) => codes.test(code))
    .map(
      ({ line, column }) =>
        sql
          .split('\n')
          [line - 1]?.slice(column - 1)
          .match(/^[@\w.]+/)?.[0] ?? '',
    )
}

export const recent = 'timestamp > @now - INTERVAL 1 DAY'
