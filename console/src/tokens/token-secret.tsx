import { type ReactNode, useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'

interface TokenSecretProps {
  title: string
  secret: string
  note: string
  children?: ReactNode
  onClose: () => void
}

/** Shows a secret once. It is in no cache of the page, so it is gone with the dialog. */
export function TokenSecret({ title, secret, note, children, onClose }: TokenSecretProps) {
  const shown = useRef<HTMLParagraphElement>(null)
  const select = () => {
    if (shown.current) getSelection()?.selectAllChildren(shown.current)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{note}</p>
      <p className="secret" ref={shown}>
        {secret}
      </p>
      {children}
      <div className="dialog-foot">
        <CopyButton text={secret} label="Copy token" onFailed={select} />
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
