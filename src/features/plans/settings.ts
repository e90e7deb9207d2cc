import { z } from 'zod'
import type { SettingRows } from '../../core/base/settings.ts'
import { parameterForm } from '../../shared/names.ts'

export const planSettings = {
  planParameter: {
    schema: z.string().regex(parameterForm),
    expected: 'the name of a parameter, such as project_tier',
    description:
      'Parameter of endpoints that is fixed to the name of the plan, for all tokens of a project with a plan. Default: none.',
  },
} satisfies SettingRows
