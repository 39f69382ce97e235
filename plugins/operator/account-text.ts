/** An account as `tollgate accounts show` prints it. */
import { printable } from '../../engine/cli/kit.ts'
import type { AccountDetails, KeyView } from '../views.ts'

export const accountText = (details: AccountDetails): string => {
  const { id, name, role, state, created, balance, holds, used, overdraft, today, month } = details
  const lines = [
    `${printable(name)} (${id}), ${role}, ${state}, since ${created}`,
    `balance    ${balance}, of which running calls hold ${holds}; overdraft ${overdraft}`,
    `used       ${used} in all`,
    `today      ${today.cost} in ${today.calls} calls`,
    `this month ${month.cost} in ${month.calls} calls`,
    `keys       ${details.credentials.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.credentials.map(key => `  ${keyLine(key)}`),
    `last calls ${details.calls.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.calls.map(
      ({ request, at, model, key, state: callState, cost }) =>
        `  ${at}  ${cost}  ${printable(model)}  key ${key ?? '-'}  ${callState}  ${printable(request)}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}
const keyLine = ({
  id,
  name,
  key,
  state,
  expires,
  models,
  limits,
  quota,
  quota_period: period,
  remaining,
  used,
}: KeyView) =>
  [
    `${id}  ${printable(name)}  ${key}  ${state}`,
    `used ${used}`,
    ...(quota === null
      ? []
      : [`quota ${remaining} of ${quota}${period ? ` a ${period}` : ''} left`]),
    ...(models ? [`models ${printable(models.join(', '))}`] : []),
    ...Object.entries(limits ?? {}).map(([kind, limit]) => `${kind} ${limit}`),
    ...(expires === null ? [] : [`until ${expires}`]),
  ].join('  ')
