import { onOrOff } from '../../core/base/setting-values.ts'
import type { SettingRows } from '../../core/base/settings.ts'

export const mcpSettings = {
  mcpWrite: {
    ...onOrOff,
    default: 'off',
    description: 'Whether /mcp has the tools check_endpoint and save_endpoint for editors and admins.',
  },
} satisfies SettingRows
