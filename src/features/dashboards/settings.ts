import { wholeNumber } from '../../core/base/setting-values.ts'
import type { SettingRows } from '../../core/base/settings.ts'

export const dashboardSettings = {
  linkDays: {
    ...wholeNumber(1, 3650),
    default: '90',
    description: 'Maximum number of days that a link to a dashboard works.',
  },
} satisfies SettingRows
