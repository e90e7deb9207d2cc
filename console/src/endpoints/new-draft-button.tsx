import { useState } from 'react'
import { useLocation } from 'wouter'
import { Confirm } from '../ui/dialog.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'
import { hasNewDraft, startNewDraft } from './use-endpoint-draft.ts'

interface NewDraftButtonProps {
  label: string
  className?: string
  disabled?: boolean
  fields: Partial<EndpointDraft>
  /** Values of parameters, to run it with. */
  values: Record<string, string>
  /** Called before the page is opened. */
  onOpen?: () => void
}

/** Opens the page of a new endpoint with these fields. Asks before it replaces unsaved work. */
export function NewDraftButton(props: NewDraftButtonProps) {
  const { label, className, disabled = false, fields, values, onOpen } = props
  const [, navigate] = useLocation()
  const [isAsking, setAsking] = useState(false)
  const open = () => {
    startNewDraft(fields)
    onOpen?.()
    navigate(`/console/new-endpoint?${new URLSearchParams(values)}`)
  }
  return (
    <>
      <button
        type="button"
        className={className}
        disabled={disabled}
        onClick={() => (hasNewDraft() ? setAsking(true) : open())}
      >
        {label}
      </button>
      {isAsking && (
        <Confirm
          title="Replace the unsaved endpoint?"
          action="Replace"
          mutation={{ isPending: false, error: null, mutate: open }}
          onClose={() => setAsking(false)}
        >
          <p>The page of new endpoints has unsaved changes. They will be replaced.</p>
        </Confirm>
      )}
    </>
  )
}
