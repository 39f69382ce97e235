/** The sandbox of the image queue: tasks whose state follows from their id, so that it stores none.
 *  Pure. */
import type { TaskAnswer, TaskCall } from './video-tasks.ts'

const PREFIX = String.raw`(?:\/mj-(?:relax|fast|turbo))?\/mj`
const CREATE = new RegExp(
  `${PREFIX}/submit/(?:imagine|action|change|modal|blend|describe|shorten)$`,
)
/** The id is the time of the create, and three more digits. */
const TASK = new RegExp(`${PREFIX}/task/([0-9]{13})[0-9]{3}/fetch$`)
/** ms after the create. */
const BEGINS_AT = 500
const ENDS_AT = 3_500

/** Undefined: this is not a call of the image queue. */
export const imageTaskAnswer = (call: TaskCall): TaskAnswer | undefined => {
  const [, time] = TASK.exec(call.path) ?? []
  if (time !== undefined && call.method === 'GET') return fetchAnswer(call, Number(time))
  if (!CREATE.test(call.path) || call.method !== 'POST') return undefined
  const result = `${call.now}000`
  return { status: 200, json: { code: 1, description: '提交成功', result, properties: {} } }
}
const percentAt = (age: number): number =>
  Math.max(0, Math.floor((100 * (age - BEGINS_AT)) / (ENDS_AT - BEGINS_AT)))
const fetchAnswer = ({ path, now, fileUrl }: TaskCall, submitTime: number): TaskAnswer => {
  const age = now - submitTime
  const isDone = age >= ENDS_AT
  const isBegun = age >= BEGINS_AT
  const percent = isDone ? 100 : percentAt(age)
  const json = {
    id: path.split('/').at(-2) ?? '',
    action: 'IMAGINE',
    status: isDone ? 'SUCCESS' : isBegun ? 'IN_PROGRESS' : 'SUBMITTED',
    submitTime,
    startTime: isBegun ? submitTime + BEGINS_AT : null,
    finishTime: isDone ? submitTime + ENDS_AT : null,
    progress: `${percent}%`,
    imageUrl: isDone ? fileUrl('image.png') : null,
    failReason: null,
    properties: {},
    buttons: isDone ? BUTTONS : [],
  }
  return { status: 200, json }
}
const BUTTONS = [1, 2, 3, 4].flatMap(index =>
  [
    ['U', 'upsample'],
    ['V', 'variation'],
  ].map(([label, action]) => ({
    customId: `MJ::JOB::${action}::${index}::sandbox`,
    emoji: '',
    label: `${label}${index}`,
    type: 2,
    style: 2,
  })),
)
