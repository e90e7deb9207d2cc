import { z } from 'zod'
import { text } from '../../core/base/setting-values.ts'
import type { SettingRows } from '../../core/base/settings.ts'

export const peopleSettings = {
  oidcIssuer: {
    schema: z.string().refine(isIssuer),
    expected: 'an https:// URL, or an http:// URL of this machine',
    description: 'OpenID Connect issuer that people sign in with. Default: tokens only.',
    // Without one of the last two, nobody could sign in. Nobody has a role by default: an issuer may know the whole world.
    needs: ['oidcClientId', 'oidcClientSecret', 'publicUrl', ['oidcRoles', 'oidcProjectClaim']],
  },
  oidcClientId: { schema: text, expected: 'a text', description: 'Client id of this service at the issuer.' },
  oidcClientSecret: {
    schema: text,
    expected: 'a text',
    description: 'Client secret of this service at the issuer.',
    secret: true,
  },
  oidcScopes: {
    schema: z.string().regex(/^openid( \S+)*$/),
    default: 'openid profile email',
    expected: 'openid, and further scopes separated by spaces',
    description: 'Scopes that are requested from the issuer.',
  },
  oidcGroupsClaim: {
    schema: text,
    default: 'groups',
    expected: 'the name of a claim',
    description: 'Claim with the groups of a person: a name, or a path such as realm_access.roles.',
  },
  oidcRoles: {
    schema: z
      .string()
      .regex(/^(?:\s*(?:admin|editor|viewer)\s*=[^=,]+(?:,|$))+$/)
      .transform((value) =>
        value.split(',').map((one) => {
          const [role = '', groups = ''] = one.split('=').map((part) => part.trim())
          return {
            role: role as 'admin' | 'editor' | 'viewer',
            groups: groups.split('|').map((name) => name.trim()),
          }
        }),
      ),
    expected: 'roles with groups such as admin=ops,editor=dev|data,viewer=*',
    description:
      'Groups of each role. A person gets the first role, from the left, that lists one of their groups; * is everyone.',
  },
  oidcProjectClaim: {
    schema: text,
    expected: 'the name of a claim',
    description: 'Claim with the project of a tenant. A person with this claim sees only that project.',
  },
  oidcCustomerScopes: {
    schema: z
      .string()
      .regex(/^(?:(?:search|query|(?:query|search|dashboard):[A-Za-z][A-Za-z0-9._-]{0,127})(?:[ ,]+|$))+$/)
      .transform((value) => value.split(/[ ,]+/).filter(Boolean)),
    default: 'query',
    expected:
      'query, search, query:<endpoint>, search:<source> or dashboard:<name>, or several of them separated by commas',
    description:
      'Scopes of people of tenants. With search, they also read whole entries of their project in published sources.',
  },
  oidcUnverifiedEmail: {
    schema: z.enum(['refuse', 'allow']),
    default: 'refuse',
    expected: 'refuse or allow',
    description:
      'Whether the claim email counts as a group or project if email_verified is not true. For issuers that never send it.',
  },
} satisfies SettingRows

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, search, hash } = new URL(text)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && search + hash === ''
}
