/** `tollgate doctor`: asks the webhook of each guard about no text. */
import type { DoctorFinding, HostBase } from '../../engine/plugin.ts'
import { type Guard, SECTION } from './section.ts'
import { askWebhook, readAction } from './webhook.ts'

export const diagnoseWebhooks = async (host: HostBase): Promise<readonly DoctorFinding[]> => {
  const guards = SECTION.read(host.section('guards') ?? {})
  return Promise.all(
    Object.entries(guards)
      .filter(([, { webhook }]) => webhook !== undefined)
      .map(async ([name, guard]) => ({ check: 'guards', ...(await diagnose(name, guard, host)) })),
  )
}

const diagnose = async (
  name: string,
  { webhook = '', timeout, on_error }: Guard,
  host: HostBase,
): Promise<Omit<DoctorFinding, 'check'>> => {
  const { origin } = new URL(webhook)
  const failure = (text: string, advice: string) =>
    ({ state: 'failure', text: `the webhook of "${name}", ${origin}: ${text}`, advice }) as const
  const question = { guard: name, request: null, model: null, on: 'request', texts: [] }
  try {
    const response = await askWebhook(host, webhook, question, timeout)
    readAction(response, [])
    return { state: 'ok', text: `the webhook of "${name}" answers`, advice: '' }
  } catch (error) {
    const effect =
      on_error === 'pass' ? 'texts pass without its verdict' : 'calls of its routes are refused'
    return failure(
      (error as Error).message,
      `${effect}: it must answer a question without texts, as any other, within ${timeout} ms`,
    )
  }
}
