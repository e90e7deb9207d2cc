import { z } from 'zod'
import { onOrOff } from '../../core/base/setting-values.ts'
import type { SettingRows } from '../../core/base/settings.ts'

export const statisticsSettings = {
  statistics: {
    ...onOrOff,
    default: 'on',
    description: 'Records requests to endpoints for statistics, metrics and the list of slow requests.',
  },
  metrics: {
    schema: z.enum(['token', 'open']),
    default: 'token',
    expected: 'token or open',
    description: 'Who can read /metrics: token for admins, open for everyone.',
  },
} satisfies SettingRows
