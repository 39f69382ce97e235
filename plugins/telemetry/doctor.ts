/** `tollgate doctor`: sends each receiver of telemetry a report without spans. */
import type { DoctorFinding, HostBase } from '../../engine/plugin.ts'
import { ENCODERS } from './exporter.ts'
import { type RawSection, type Receiver, receiversOf, SECTION } from './section.ts'
import { SpanPage } from './span-page.ts'

/** ms. */
const TIMEOUT = 10_000

export const diagnoseReceivers = async (host: HostBase): Promise<readonly DoctorFinding[]> => {
  const raw = host.section<Partial<RawSection>>('telemetry')
  if (raw?.to === undefined) return []
  const receivers = receiversOf(SECTION.read(raw as RawSection))
  return Promise.all(
    receivers.map(async receiver => ({ check: 'telemetry', ...(await diagnose(receiver, host)) })),
  )
}

const diagnose = async (
  { url, headers, encoding }: Receiver,
  host: HostBase,
): Promise<Omit<DoctorFinding, 'check'>> => {
  const { origin } = new URL(url)
  const failure = (text: string, advice: string) =>
    ({ state: 'failure', text: `${origin}: ${text}`, advice }) as const
  const encoder = ENCODERS[encoding]
  const request = {
    method: 'POST',
    headers: { 'content-type': encoder.contentType, ...headers },
    body: new SpanPage(encoder).body({}),
    timeout: TIMEOUT,
  }
  try {
    const { status } = await host.request(`${url}/v1/traces`, request)
    if (status < 300) return { state: 'ok', text: `${origin} takes traces`, advice: '' }
    if (status === 401 || status === 403)
      return failure(`${status}: refuses the key`, 'correct its `headers` in telemetry.to')
    return failure(`${status} to POST …/v1/traces`, FORM)
  } catch (error) {
    return failure(
      (error as Error).message,
      'is the receiver running, and does telemetry.to name it rightly?',
    )
  }
}
const FORM = '`url` is the address before /v1/traces; `encoding` is one that the receiver reads'
