// SPDX-License-Identifier: GPL-2.0
/*
 * The files `firmware` and `flags` of the Zynq's FPGA manager, which the kernels of AMD's (Xilinx')
 * boards have and mainline has not: the name of a file below /lib/firmware, written to `firmware`,
 * programs the PL; `flags` (hexadecimal; 1: partial reconfiguration) says how. Copied into
 * drivers/fpga when the emulated Pynq's kernel is built.
 */
#include <linux/device.h>
#include <linux/fpga/fpga-mgr.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/of.h>
#include <linux/slab.h>
#include <linux/string.h>

static u32 next_flags;

static ssize_t flags_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", next_flags);
}

static ssize_t flags_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	int ret = kstrtou32(buf, 16, &next_flags);

	return ret ? ret : count;
}
static DEVICE_ATTR_RW(flags);

static int load(struct fpga_manager *mgr, const char *name)
{
	struct fpga_image_info *info = fpga_image_info_alloc(&mgr->dev);
	int ret;

	if (!info)
		return -ENOMEM;
	info->flags = next_flags;
	info->firmware_name = devm_kstrdup(&mgr->dev, name, GFP_KERNEL);
	ret = info->firmware_name ? fpga_mgr_lock(mgr) : -ENOMEM;
	if (!ret) {
		ret = fpga_mgr_load(mgr, info);
		fpga_mgr_unlock(mgr);
	}
	fpga_image_info_free(info);
	return ret;
}

static ssize_t firmware_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t count)
{
	char *name = kstrndup(buf, count, GFP_KERNEL);
	int ret;

	if (!name)
		return -ENOMEM;
	ret = load(container_of(dev, struct fpga_manager, dev), strim(name));
	kfree(name);
	return ret ? ret : count;
}
static DEVICE_ATTR_WO(firmware);

/* After the drivers, so that the manager is there; it is held for good. */
static int __init fettle_firmware_init(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "xlnx,zynq-devcfg-1.0");
	struct fpga_manager *mgr = node ? of_fpga_mgr_get(node) : ERR_PTR(-ENODEV);
	int ret;

	of_node_put(node);
	if (IS_ERR(mgr))
		return PTR_ERR(mgr);
	ret = device_create_file(&mgr->dev, &dev_attr_flags);
	return ret ? ret : device_create_file(&mgr->dev, &dev_attr_firmware);
}
late_initcall(fettle_firmware_init);
