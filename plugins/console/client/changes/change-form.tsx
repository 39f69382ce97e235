/** A dialog that changes a file of the configuration: fields, then the diff of the file with its
 *  problems, then the change goes live. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConfigurationChange } from '../../../views.ts'
import { type ApiError, callData } from '../api.ts'
import { type Action, useAction } from '../loading.ts'
import { Diff } from '../parts/diff.tsx'
import { Dialog, Form } from '../parts/form.tsx'
import { toast } from '../parts/toast.tsx'
import { hrefOf } from '../router.ts'
import { text } from '../texts.ts'

interface ChangeFormProps {
  readonly title: string
  /** `provider`, `model`, `price`, `limit`. */
  readonly operation: string
  /** Its arguments. */
  readonly body: object
  /** Names of fields that show their own errors. */
  readonly params: readonly string[]
  onClose(): void
  onLive(): void
  children(error: ApiError | undefined): ComponentChildren
}
export const ChangeForm = (props: ChangeFormProps) => {
  const { title, operation, body, params, onClose, onLive, children } = props
  const { preview, action } = useChange(operation, body, onLive)
  const isReady = preview !== undefined && preview.lines.length > 0 && isClean(preview)
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={action}
        submit={isReady ? text('change.save') : text('change.preview')}
        params={params}
        isWide
        onCancel={onClose}
      >
        {children(action.error)}
        <div class="change" aria-live="polite">
          {preview && <Preview of={preview} />}
        </div>
      </Form>
    </Dialog>
  )
}
const isClean = ({ problems }: ConfigurationChange): boolean => problems.length === 0

/** The first start asks for the preview, the next one saves what it showed. */
const useChange = (
  operation: string,
  body: object,
  onLive: () => void,
): { readonly preview: ConfigurationChange | undefined; readonly action: Action } => {
  const key = JSON.stringify(body)
  const [last, setLast] = useState<{ readonly key: string; readonly change: ConfigurationChange }>()
  // Another value of a field needs another preview.
  const preview = last?.key === key ? last.change : undefined
  const send = (more: object) =>
    callData<ConfigurationChange>('POST', `/api/admin/config/${operation}`, { ...body, ...more })
  const action = useAction(async () => {
    if (!preview || preview.lines.length === 0 || !isClean(preview)) {
      setLast(undefined)
      const change = await send({ preview: true })
      return setLast({ key, change })
    }
    // After a refusal the file may have another text.
    setLast(undefined)
    const { version } = await send({ hash: preview.hash })
    toast(text('change.live', { n: version ?? '' }))
    onLive()
  })
  return { preview, action }
}

const Preview = ({ of: { file, lines, problems } }: { readonly of: ConfigurationChange }) => {
  const element = useRef<HTMLDivElement>(null)
  // The diff and the button below it.
  useEffect(() => element.current?.closest('form')?.scrollIntoView({ block: 'end' }), [])
  if (lines.length === 0) return <p class="notice">{text('change.same', { file })}</p>
  return (
    <div ref={element}>
      <Diff files={[{ file, lines }]} />
      {problems.map(({ file, line, column, text: sentence }, index) => (
        <p key={index} class="problem" role="alert">
          <a class="mono" href={hrefOf('editor', undefined, { file })}>
            {`${file}:${line}:${column}`}
          </a>{' '}
          <span class="error">{sentence}</span>
        </p>
      ))}
    </div>
  )
}
