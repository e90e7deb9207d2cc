/**
 * Names of the pages of the console, `/console/<name>`, and the feature that each belongs to; null for core. All are the same
 * HTML, which reads its address.
 */
export const consolePages: Readonly<Record<string, string | null>> = {
  endpoints: null,
  'new-endpoint': null,
  playground: null,
  logs: 'logs',
  alerts: 'alerts',
  dashboards: 'dashboards',
  sources: 'sources',
  tables: 'tables',
  projects: 'plans',
  tokens: null,
  usage: 'plans',
  audit: 'audit',
  people: 'people',
}
