/** Problems of the section `alerts:` that its schema cannot see. */
import { isFields } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { zoneProblem } from '../billing/calendar.ts'
import { isSecret } from '../webhooks/signature.ts'

export const checkSection = (
  { alerts, mail, upstreams, pipeline }: Document,
  report: Report,
): void => {
  if (!isFields(alerts)) return
  if (Array.isArray(pipeline) && !pipeline.includes('alerts'))
    report(['alerts'], 'ALERT_OPTION', 'no alert is sent: `pipeline:` has no `alerts`; add it')
  const { quiet, to, balances } = alerts
  const zone = isFields(quiet) ? zoneProblem(quiet.zone) : undefined
  if (zone) report(['alerts', 'quiet', 'zone'], 'ALERT_OPTION', zone)
  for (const [index, receiver] of listOf(to).entries())
    if (receiver.kind === 'mail' && !mail) {
      const message = 'no mail can be sent: there is no section `mail:` with a server; add it'
      report(['alerts', 'to', index, 'kind'], 'ALERT_OPTION', message)
    } else if (
      receiver.kind === 'webhook' &&
      receiver.secret &&
      !isSecret(String(receiver.secret))
    ) {
      const message = 'the secret of a webhook is whsec_ and the base64 of 24 to 64 bytes'
      report(['alerts', 'to', index, 'secret'], 'ALERT_OPTION', message)
    } else if (receiver.secret && (receiver.kind === 'slack' || receiver.kind === 'wecom')) {
      const message = `messages to ${receiver.kind} have no signature; remove \`secret\``
      report(['alerts', 'to', index, 'secret'], 'ALERT_OPTION', message)
    }
  for (const [index, { upstream }] of listOf(balances).entries())
    if (!isFields(upstreams) || !(String(upstream) in upstreams)) {
      const message = `there is no upstream "${upstream}"; name a key of \`upstreams:\``
      report(['alerts', 'balances', index, 'upstream'], 'ALERT_OPTION', message)
    }
}
const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isFields) : [])
