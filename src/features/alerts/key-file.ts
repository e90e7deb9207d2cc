import type { KeyFile } from '../../core/base/files/key-file.ts'

export const alertKeyFile: KeyFile = {
  name: 'alert-key',
  title: 'the key of webhooks',
  variable: 'WELLHEAD_ALERT_KEY',
  usedSql: `SELECT 1 FROM _catalog WHERE kind = 'alert' AND body LIKE '%"secret":%' LIMIT 1`,
  missing: 'If its alerts have webhooks, nothing is sent to those',
}
