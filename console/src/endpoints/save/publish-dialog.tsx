import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/states.tsx'

interface PublishDialogProps {
  isPending: boolean
  error: Error | undefined
  onChoose: (published: boolean) => void
  onClose: () => void
}

/** Asks once, before an endpoint exists, whether tenants can request it. */
export function PublishDialog({ isPending, error, onChoose, onClose }: PublishDialogProps) {
  return (
    <Dialog title="Publish it to tenants?" onClose={onClose}>
      <div className="stack">
        <p>
          Tokens with a project see a published endpoint in their console and in the API description, and can
          request it. They get only rows of their project. You can change this in the settings.
        </p>
        {error && <Failure error={error} />}
        <div className="dialog-foot">
          <Button look="plain" onClick={onClose}>
            Cancel
          </Button>
          <Button disabled={isPending} onClick={() => onChoose(false)}>
            Create without publishing
          </Button>
          <Button look="primary" disabled={isPending} onClick={() => onChoose(true)}>
            Publish to tenants
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
