import { describe, expect, test } from 'vitest'
import { settingsReader, settingsWith } from '../../../test/support/settings.ts'
import { people } from './index.ts'

const { settingsOf, problemsOf } = settingsReader(await settingsWith(people))

describe('the settings of an issuer', () => {
  const issuer = {
    WELLHEAD_OIDC_ISSUER: 'https://login.example.com',
    WELLHEAD_OIDC_CLIENT_ID: 'wellhead',
    WELLHEAD_OIDC_CLIENT_SECRET: 'secret',
    WELLHEAD_PUBLIC_URL: 'https://logs.example.com',
    WELLHEAD_OIDC_ROLES: 'admin=ops, editor = dev|data,viewer=*',
  }

  test('reads roles with their groups, in order', () => {
    expect(settingsOf(issuer)).toHaveProperty('oidcRoles', [
      { role: 'admin', groups: ['ops'] },
      { role: 'editor', groups: ['dev', 'data'] },
      { role: 'viewer', groups: ['*'] },
    ])
  })

  test('reads the scopes of customers', () => {
    const scopes = {
      WELLHEAD_OIDC_CUSTOMER_SCOPES: 'query:logs.all, search search:edge_logs dashboard:traffic',
    }
    const expected = ['query:logs.all', 'search', 'search:edge_logs', 'dashboard:traffic']
    expect(settingsOf({ ...issuer, ...scopes })).toHaveProperty('oidcCustomerScopes', expected)
  })

  test.each([
    [{ WELLHEAD_OIDC_CLIENT_ID: '' }, 'WELLHEAD_OIDC_ISSUER needs WELLHEAD_OIDC_CLIENT_ID.'],
    [{ WELLHEAD_PUBLIC_URL: '' }, 'WELLHEAD_OIDC_ISSUER needs WELLHEAD_PUBLIC_URL.'],
    [
      { WELLHEAD_OIDC_ROLES: '' },
      'WELLHEAD_OIDC_ISSUER needs WELLHEAD_OIDC_ROLES or WELLHEAD_OIDC_PROJECT_CLAIM.',
    ],
    [{ WELLHEAD_OIDC_ROLES: 'owner=ops' }, 'WELLHEAD_OIDC_ROLES must be roles with groups'],
    [{ WELLHEAD_OIDC_ROLES: 'admin' }, 'WELLHEAD_OIDC_ROLES must be roles with groups'],
    [{ WELLHEAD_OIDC_CUSTOMER_SCOPES: 'query,read' }, 'WELLHEAD_OIDC_CUSTOMER_SCOPES must be query, search'],
    [{ WELLHEAD_OIDC_CUSTOMER_SCOPES: 'admin' }, 'WELLHEAD_OIDC_CUSTOMER_SCOPES must be query, search'],
    [{ WELLHEAD_OIDC_ISSUER: 'http://login.example.com' }, 'WELLHEAD_OIDC_ISSUER must be an https:// URL'],
    [{ WELLHEAD_PUBLIC_URL: 'https://logs.example.com/x' }, 'WELLHEAD_PUBLIC_URL must be an origin'],
  ])('refuses %j', (change, problem) => {
    expect(problemsOf({ ...issuer, ...change })).toEqual([expect.stringContaining(problem)])
  })
})
