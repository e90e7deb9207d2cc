import { clickhouse, formatDialect } from 'sql-formatter'

/** In one place, so that the formatter is loaded when somebody wants it. */
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
