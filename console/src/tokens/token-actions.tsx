import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate } from '../api/queries.ts'
import type { NewToken, Token } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { SessionForm } from './session-form.tsx'
import { EditTokenForm } from './token-form.tsx'
import { TokenSecret } from './token-secret.tsx'

export const nameOf = ({ description, id }: Pick<Token, 'description' | 'id'>): string =>
  description || id.slice(0, 8)

const actions = [
  ['edit', 'Edit', ''],
  ['session', 'Create a browser session', ''],
  ['rotate', 'Rotate', ''],
  ['revoke', 'Revoke', 'danger'],
] as const

/** What can be done with a token, on its page. */
export function TokenActions({ token, onRevoked }: { token: Token; onRevoked: () => void }) {
  const [open, setOpen] = useState<(typeof actions)[number][0]>()
  const [rotated, setRotated] = useState<NewToken>()
  const close = () => setOpen(undefined)
  const path = `/api/access-tokens/${token.id}`
  const name = nameOf(token)
  const revoke = useMutation({
    mutationFn: () => api(path, { method: 'DELETE' }),
    onSuccess: () => {
      onRevoked()
      invalidate('tokens')
    },
  })
  const rotate = useMutation({
    mutationFn: () => api<NewToken>(`${path}/rotate`, { body: {} }),
    onSuccess: (changed) => {
      close()
      setRotated(changed)
      invalidate('tokens')
    },
    gcTime: 0,
  })
  return (
    <>
      {actions.map(([key, text, tone]) => (
        <Button key={key} look={tone} onClick={() => setOpen(key)}>
          {text}
        </Button>
      ))}
      {open === 'edit' && <EditTokenForm token={token} onClose={close} />}
      {open === 'session' && <SessionForm token={token} onClose={close} />}
      {open === 'revoke' && (
        <Confirm title={`Revoke ${name}?`} action="Revoke token" mutation={revoke} onClose={close}>
          <p>Requests with this token and its browser sessions are rejected from now on.</p>
        </Confirm>
      )}
      {open === 'rotate' && (
        <Confirm title={`Rotate ${name}?`} action="Rotate token" mutation={rotate} onClose={close}>
          <p>Creates a new secret. The old secret keeps working for one day.</p>
        </Confirm>
      )}
      {rotated && (
        <TokenSecret
          title={`New secret of ${name}`}
          secret={rotated.token}
          note="Copy it now. It is shown only once; the service stores only its hash."
          onClose={() => setRotated(undefined)}
        />
      )}
    </>
  )
}
