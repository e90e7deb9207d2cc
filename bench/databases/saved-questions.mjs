/** What the three saved queries mean, for those who write them in another dialect. */

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
 * What all sides must agree on, and how the endpoint writes times. Percentiles are left out: the saved query's are
 * approximate.
 */
export const agreed = {
  'logs.all': { columns: ['id', 'timestamp', 'event_message'], time: 'micros' },
  'functions.invocation-stats': {
    columns: ['timestamp', 'min_execution_time', 'max_execution_time', 'count', 'error_count'],
    time: 'micros',
  },
  'usage.api-counts': { columns: ['timestamp', ...areas], time: 'text' },
}

/** Throws where another store has other rows than the endpoint gave: then the two are not the same question. */
export function checkSameRows(store, { endpoint }, served, stored) {
  const { columns } = agreed[endpoint]
  const text = (rows) => JSON.stringify(rows.map((row) => columns.map((column) => row[column])))
  if (text(stored) === text(served)) return
  throw new Error(
    `${endpoint} differs from the rows of ${store}:\n${text(served).slice(0, 1000)}\n${text(stored).slice(0, 1000)}`,
  )
}
