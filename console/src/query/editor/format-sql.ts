import { clickhouse, formatDialect } from 'sql-formatter'

/** Imported on demand, because the formatter is large. */
export function formatSql(query: string): string {
  try {
    return formatDialect(query, {
      dialect: clickhouse,
      keywordCase: 'upper',
      tabWidth: 4,
      paramTypes: { named: ['@'] },
    })
  } catch {
    return query
  }
}
