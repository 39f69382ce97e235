/** The playground: a chat in any of the four formats, streamed, or a video task, with what was
 *  sent, what came back and what it cost. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PricedModel, Receipt } from '../../../views.ts'
import { ApiError, call, callData, errorOf, send } from '../api.ts'
import {
  type ChatFormat,
  FORMAT_NAMES,
  FORMATS,
  type FormatName,
  failureIn,
  readEvents,
  type Turn,
} from '../formats.ts'
import { toApiError, useAction, useData } from '../loading.ts'
import type { PageProps } from '../page.ts'
import { Field, Form } from '../parts/form.tsx'
import { PageHead } from '../parts/page.tsx'
import { Segments } from '../parts/segments.tsx'
import { FormError } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { CodeBox, Id, jsonOf, Money, useCurrency } from '../parts/values.tsx'
import { go, hrefOf, setQuery } from '../router.ts'
import { text } from '../texts.ts'
import { CopyAs, ImagesField, ModelField, type ModelProps } from './playground-fields.tsx'

type Kind = FormatName | 'video'
const KINDS: readonly Kind[] = [...FORMAT_NAMES, 'video']
const VIDEO_ENDPOINT = 'vidu'
const endpointOf = (kind: Kind): string =>
  kind === 'video' ? VIDEO_ENDPOINT : FORMATS[kind].endpoint

const Playground = ({ place: { query } }: PageProps) => {
  const kind = KINDS.find(each => each === query.get('format')) ?? 'openai'
  const models = useData<{ data: readonly PricedModel[] }>('/api/pricing')
  const usable = (models.data?.data ?? []).filter(
    ({ model_name, supported_endpoint_types, video_prices }) =>
      supported_endpoint_types.includes(endpointOf(kind)) &&
      !model_name.includes('*') &&
      (kind !== 'video' || video_prices !== undefined),
  )
  const names = usable.map(({ model_name }) => model_name)
  const wish = query.get('model') ?? ''
  const model = names.includes(wish) ? wish : (names[0] ?? '')
  return (
    <>
      <PageHead title={text('page.playground')} />
      <Segments
        label={text('playground.format')}
        names={KINDS}
        present={kind}
        titleOf={each => (each === 'video' ? text('playground.video') : FORMATS[each].title)}
        onChoose={each => setQuery({ format: each })}
      />
      {kind === 'video' ? (
        <Video model={model} names={names} />
      ) : (
        <Chat key={kind} format={FORMATS[kind]} model={model} names={names} />
      )}
    </>
  )
}
export default Playground

/** One call: what was sent and what has come back so far. */
interface Run {
  readonly turn: Turn
  readonly body: object
  readonly path: string
  readonly answer: string
  readonly requestId?: string
  readonly error?: ApiError
  readonly isOver?: boolean
  readonly isStopped?: boolean
}

interface Draft {
  readonly message: string
  readonly system: string
  readonly most: string
  readonly temperature: string
  readonly images: readonly string[]
}
const EMPTY: Draft = { message: '', system: '', most: '1024', temperature: '', images: [] }
/** The next message, the call that runs or ended last, and the turns before it. */
const useConversation = (format: ChatFormat, model: string) => {
  const [draft, setDraft] = useState(EMPTY)
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [run, setRun] = useState<Run>()
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const change = (part: Partial<Draft>) => setDraft(before => ({ ...before, ...part }))
  const changeRun = (part: (run: Run) => Partial<Run>) =>
    setRun(before => before && { ...before, ...part(before) })
  const action = useAction(async () => {
    const { message, images, system, most, temperature } = draft
    // The last answer is a turn once the next message follows it.
    const earlier: readonly Turn[] = isAnswered(run)
      ? [...turns, run.turn, { role: 'assistant', text: run.answer }]
      : turns
    const turn: Turn = { role: 'user', text: message, ...(images.length > 0 && { images }) }
    const body = format.body({
      model,
      turns: [...earlier, turn],
      system,
      most: Number(most) || 1024,
      ...(temperature !== '' && { temperature: Number(temperature) }),
    })
    const controller = new AbortController()
    abort.current = controller
    setTurns(earlier)
    change({ message: '', images: [] })
    setRun({ body, path: format.path(model), turn, answer: '' })
    const error = await streamAnswer(format, { model, body, signal: controller.signal }, changeRun)
    if (error === undefined) return changeRun(() => ({ isOver: true }))
    const { aborted } = controller.signal
    // The message stays for another try.
    if (!aborted) setDraft(before => ({ ...before, message: before.message || message, images }))
    changeRun(() => ({ isOver: true, ...(aborted ? { isStopped: true } : { error }) }))
  })
  const stop = () => abort.current?.abort()
  const clear = () => {
    stop()
    setTurns([])
    setRun(undefined)
  }
  return { draft, change, action, run, turns, stop, clear }
}
interface StreamedCall {
  readonly model: string
  readonly body: object
  readonly signal: AbortSignal
}
/** Resolves to the error that ended the call. */
const streamAnswer = async (
  format: ChatFormat,
  { model, body, signal }: StreamedCall,
  change: (part: (run: Run) => Partial<Run>) => void,
): Promise<ApiError | undefined> => {
  try {
    const response = await send('POST', format.path(model), { body, signal })
    const requestId = response.headers.get('x-request-id') ?? ''
    change(() => ({ requestId }))
    if (!response.ok || !response.body) throw await errorOf(response)
    await readEvents(response.body, event => {
      const failure = failureIn(event)
      if (failure !== undefined) throw new ApiError(response.status, failure, undefined, requestId)
      const added = format.textIn(event)
      if (added) change(({ answer }) => ({ answer: answer + added }))
    })
    return undefined
  } catch (error) {
    return toApiError(error)
  }
}

const Chat = ({ format, model, names }: ModelProps & { format: ChatFormat }) => {
  const { draft, change, action, run, turns, stop, clear } = useConversation(format, model)
  const bind = (name: Exclude<keyof Draft, 'images'>) => ({
    value: draft[name],
    onChange: (value: string) => change({ [name]: value }),
  })
  return (
    <div class="two">
      <section class="card" aria-label={text('playground.request')}>
        <Form action={action} submit={text('playground.send')} isWide>
          <ModelField model={model} names={names} />
          <Field label={text('playground.prompt')} {...bind('message')} lines={5} isRequired />
          <Field
            label={`${text('playground.system')} (${text('optional')})`}
            {...bind('system')}
            lines={2}
          />
          <ImagesField images={draft.images} onChange={images => change({ images })} />
          <div class="columns">
            <Field label={text('playground.most')} {...bind('most')} type="number" />
            <Field
              label={`${text('playground.temperature')} (${text('optional')})`}
              {...bind('temperature')}
              type="number"
            />
          </div>
        </Form>
      </section>
      <Answer run={run} turns={turns} onStop={stop} onClear={clear} />
    </div>
  )
}

const isAnswered = (run: Run | undefined): run is Run =>
  run?.isOver === true && run.error === undefined && run.answer !== ''

interface AnswerProps {
  readonly run: Run | undefined
  readonly turns: readonly Turn[]
  onStop(): void
  onClear(): void
}
const Answer = ({ run, turns, onStop, onClear }: AnswerProps) => (
  <section class="card" aria-label={text('playground.answer')}>
    <div class="card-head">
      <h2>{text('playground.answer')}</h2>
      {run?.isOver && (
        <button type="button" class="button tiny" onClick={onClear}>
          {text('playground.clear')}
        </button>
      )}
      {run && !run.isOver && (
        <button type="button" class="button tiny" onClick={onStop}>
          {text('playground.stop')}
        </button>
      )}
    </div>
    {!run && <p class="muted answer">{text('playground.empty')}</p>}
    {run && (
      <>
        {[...turns, run.turn].map((turn, at) => (
          <TurnView key={at} of={turn} />
        ))}
        <div class="answer" aria-live="polite" data-answer>
          {run.answer}
        </div>
        {run.isStopped && <p class="muted">{text('playground.stopped')}</p>}
        <FormError error={run.error} fields={[]} />
        <Charge run={run} />
        <CopyAs path={run.path} body={run.body} />
        <details>
          <summary>{text('playground.request')}</summary>
          <CodeBox text={`POST ${run.path}\n${jsonOf(run.body)}`} />
        </details>
      </>
    )}
  </section>
)

const TurnView = ({ of: { role, text: content, images = [] } }: { of: Turn }) => (
  <div data-turn={role}>
    <p class="small muted">{text(`playground.${role}`)}</p>
    <div class="answer">{content}</div>
    {images.map((url, at) => (
      <img key={at} src={url} alt={text('playground.image', { n: at + 1 })} height={48} />
    ))}
  </div>
)

/** ms between two looks for the receipt, and how many. */
const [INTERVAL, LOOKS] = [300, 30]
const Charge = ({ run: { requestId, isOver } }: { run: Run }) => {
  const currency = useCurrency()
  const [receipt, setReceipt] = useState<Receipt>()
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    if (!isOver || !requestId) return
    let looks = 0
    const look = () =>
      callData<Receipt>('GET', `/api/usage/${requestId}`)
        .then(data => {
          setReceipt(data)
          if (data.state === 'open') throw new Error('the call is not settled yet')
        })
        .catch(() => {
          if (++looks < LOOKS) timer = setTimeout(look, INTERVAL)
          else setMissing(true)
        })
    let timer = setTimeout(look, 0)
    return () => clearTimeout(timer)
  }, [isOver, requestId])
  if (!requestId) return null
  return (
    <dl class="facts">
      <dt>{text('column.id')}</dt>
      <dd>
        <a href={hrefOf('call', requestId)}>{text('page.call')}</a> <Id id={requestId} />
      </dd>
      <dt>{text('playground.charge')}</dt>
      <dd data-charge>
        {receipt && receipt.state !== 'failed' ? (
          <>
            <Money amount={receipt.cost} /> {currency}
            {receipt.formula && <div class="small muted">{receipt.formula}</div>}
          </>
        ) : (
          <span class="muted">{text(isMissing || receipt ? 'none' : 'playground.waiting')}</span>
        )}
      </dd>
    </dl>
  )
}

const RESOLUTIONS = ['540p', '720p', '1080p']
const Video = ({ model, names }: ModelProps) => {
  const [prompt, setPrompt] = useState('')
  const [duration, setDuration] = useState('5')
  const [resolution, setResolution] = useState('720p')
  const body = { model, prompt, duration: Number(duration), resolution }
  const action = useAction(async () => {
    const { task_id } = await call<{ task_id: string }>('POST', '/ent/v2/text2video', { body })
    toast(text('playground.created'))
    go(hrefOf('task', task_id))
  })
  return (
    <div class="two">
      <section class="card" aria-label={text('playground.video')}>
        <Form action={action} submit={text('playground.send')} isWide>
          <ModelField model={model} names={names} />
          <Field
            label={text('tasks.prompt')}
            value={prompt}
            onChange={setPrompt}
            lines={4}
            isRequired
          />
          <div class="columns">
            <Field
              label={text('playground.duration')}
              value={duration}
              onChange={setDuration}
              type="number"
            />
            <Field
              label={text('playground.resolution')}
              value={resolution}
              onChange={setResolution}
              options={RESOLUTIONS.map(each => [each, each])}
            />
          </div>
        </Form>
      </section>
      <section class="card" aria-label={text('playground.request')}>
        <h2>{text('playground.request')}</h2>
        <CodeBox text={`POST /ent/v2/text2video\n${jsonOf(body)}`} />
      </section>
    </div>
  )
}
