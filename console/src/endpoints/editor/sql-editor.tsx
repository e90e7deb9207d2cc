import { Suspense } from 'react'
import { lazily } from '../../ui/lazily.ts'
import type { SqlEditorProps } from './sql-editor-view.tsx'

const View = lazily(() => import('./sql-editor-view.tsx'))

/** The editor is large, so the page is there before it. */
export function SqlEditor(props: SqlEditorProps) {
  return (
    <Suspense fallback={<div className="editor skeleton" style={{ height: props.height }} />}>
      <View {...props} />
    </Suspense>
  )
}
