/** An account as `tollgate accounts show` prints it. */
import { printable } from '../../engine/cli/kit.ts'
import type { AccountDetails, KeyView } from '../views.ts'

export const accountText = (details: AccountDetails, currency: string): string => {
  const money = (amount: string | null): string => `${amount} ${currency}`
  const { id, name, role, state, created, balance, holds, used, overdraft, today, month } = details
  const lines = [
    `${printable(name)} (${id}), ${role}, ${state}, since ${created}`,
    `balance    ${money(balance)}, of which running calls hold ${money(holds)}; overdraft ${money(overdraft)}`,
    `used       ${money(used)} in all`,
    `today      ${money(today.cost)} in ${today.calls} calls`,
    `this month ${money(month.cost)} in ${month.calls} calls`,
    `keys       ${details.credentials.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.credentials.map(key => `  ${keyLine(key, money)}`),
    `last calls ${details.calls.length === 0 ? 'none' : ''}`.trimEnd(),
    ...details.calls.map(
      ({ request, at, model, key, state: callState, cost }) =>
        `  ${at}  ${money(cost)}  ${printable(model)}  key ${key ?? '-'}  ${callState}  ${printable(request)}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}
const keyLine = (view: KeyView, money: (amount: string | null) => string): string => {
  const { id, name, key, state, expires, models, limits, remaining, used } = view
  const { quota, quota_period: period } = view
  return [
    `${id}  ${printable(name)}  ${key}  ${state}`,
    `used ${money(used)}`,
    ...(quota === null
      ? []
      : [`quota ${remaining} of ${quota}${period ? ` a ${period}` : ''} left`]),
    ...(models ? [`models ${printable(models.join(', '))}`] : []),
    ...Object.entries(limits ?? {}).map(([kind, limit]) => `${kind} ${limit}`),
    ...(expires === null ? [] : [`until ${expires}`]),
  ].join('  ')
}
