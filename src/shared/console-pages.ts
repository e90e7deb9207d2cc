/** Names of the pages of the console, `/console/<name>`. All are the same HTML, which reads its address. */
export const consolePages = [
  'endpoints',
  'new-endpoint',
  'playground',
  'logs',
  'alerts',
  'dashboards',
  'sources',
  'tables',
  'projects',
  'tokens',
  'usage',
  'audit',
  'people',
] as const
