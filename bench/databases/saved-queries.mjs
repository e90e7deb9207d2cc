/** Constants of the three saved queries, for their versions in other SQL dialects. */

export const iso = (seconds) => new Date(seconds * 1000).toISOString()

export const tierDays = { FREE: 1, PRO: 7 }

export const seriesOf = {
  '1day': { length: 86_400, bucket: 3_600, unit: 'hour' },
  '7day': { length: 604_800, bucket: 86_400, unit: 'day' },
}

export const windowOf = {
  minutely: { length: 3_600, unit: 'minute' },
  daily: { length: 604_800, unit: 'day' },
}

const areas = ['rest', 'storage', 'auth', 'realtime'].map((area) => `total_${area}_requests`)

/**
 * Columns that must be the same on all sides, and the endpoint's time format. Percentiles are not compared, because the
 * saved query's are approximate.
 */
export const comparedColumns = {
  'logs.all': { columns: ['id', 'timestamp', 'event_message'], time: 'micros' },
  'functions.invocation-stats': {
    columns: ['timestamp', 'min_execution_time', 'max_execution_time', 'count', 'error_count'],
    time: 'micros',
  },
  'usage.api-counts': { columns: ['timestamp', ...areas], time: 'text' },
}

/** Throws if another database returns different rows: the queries would not be equivalent. */
export function checkSameRows(store, { endpoint }, served, stored) {
  const { columns } = comparedColumns[endpoint]
  const text = (rows) => JSON.stringify(rows.map((row) => columns.map((column) => row[column])))
  if (text(stored) === text(served)) return
  throw new Error(
    `${endpoint} and ${store} return different rows:\n${text(served).slice(0, 1000)}\n${text(stored).slice(0, 1000)}`,
  )
}
