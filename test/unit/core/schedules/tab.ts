import type { Snapshot } from '../../../../src/contract/session-snapshot.ts'
import { type Device, type Tab, Violation, type World } from './world.ts'

export function openTab(device: Device, index: 0 | 1): Tab {
  const tab: Tab = { known: undefined, expected: undefined, incarnation: undefined, unsaved: [], waiting: undefined }
  device.tabs[index] = tab
  load(device, tab)
  return tab
}

/** What a page does after a conflict: it resumes from what is stored. */
export function load(device: Device, tab: Tab): void {
  const { row } = device.session
  tab.known = row?.local
  tab.expected = row?.local?.cursor
  if (row?.local) tab.incarnation = row.incarnation
}

export function closeTab(world: World, device: Device, index: 0 | 1): void {
  const tab = device.tabs[index]
  device.tabs[index] = undefined
  for (const [claimId, permission] of device.permissions) {
    if (permission.tab === tab) device.permissions.delete(claimId)
  }
  world.note(`${device.id} tab ${index} dies`)
}

/** After `true` the page knows what it asked for, not what an overlay made of it. */
export function knows(tab: Tab, device: Device, snapshot: Snapshot): void {
  tab.known = snapshot
  tab.expected = snapshot.cursor
  tab.incarnation = device.session.row?.incarnation
}

/** `true`: the page may run it. */
export function permit(device: Device, tab: Tab, claimId: string): void {
  const claim = device.session.claims.find((each) => each.claimId === claimId)
  if (!claim) throw new Violation('a permission without a row')
  device.permissions.set(claimId, { claimId, token: claim.token, want: claim.want, tab, bySave: true, ran: false })
}
