import type { Finding } from '../../cli/kit/finding.ts'
import { type Settings, settingsOf } from '../../core/base/settings.ts'
import { peopleSettings } from './settings.ts'

/** A customer whose account lacks the claim must not become somebody who sees every project. */
export function checkSignIn(settings: Settings): Finding[] {
  const { oidcProjectClaim: claim, oidcRoles = [] } = settingsOf(settings, peopleSettings)
  const open = oidcRoles.find(({ groups }) => groups.includes('*'))
  if (claim === undefined || !open) return []
  return [
    {
      name: 'sign-in',
      status: 'warning',
      message: `Everyone without the claim ${claim} has the role ${open.role} and sees all projects, because WELLHEAD_OIDC_ROLES has ${open.role}=*.`,
      advice: 'Name the groups of your own people instead of *.',
    },
  ]
}
