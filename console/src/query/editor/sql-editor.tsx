import { Suspense } from 'react'
import { lazily } from '../../ui/lazily.ts'
import type { SqlEditorProps } from './sql-editor-view.tsx'

const View = lazily(() => import('./sql-editor-view.tsx'))

/** Loaded after the page, because the editor is large. */
export function SqlEditor(props: SqlEditorProps) {
  return (
    <Suspense fallback={<div className="editor skeleton" style={{ height: props.height }} />}>
      <View {...props} />
    </Suspense>
  )
}
